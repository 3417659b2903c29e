"""A ranking service played out: queries come, new items arrive, users click, rankers learn (ebrank2023)."""

from counterrank.simulate.sessions.corpus import Corpus
from counterrank.simulate.sessions.read import read_corpus
from counterrank.simulate.sessions.result import Simulation
from counterrank.simulate.sessions.run import simulate_sessions

__all__ = ["Corpus", "Simulation", "read_corpus", "simulate_sessions"]
