"""counterrank: is the new ranking better, and is it safe to ship?"""

__version__ = "0.1.0"
