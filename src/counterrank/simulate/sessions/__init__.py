"""A ranking service played out: queries come, new items arrive, users click, rankers learn (ebrank2023)."""
