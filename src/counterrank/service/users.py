"""Users without their names: a keyed hash stands for each, and only who has the secret can tell whose it is."""

from __future__ import annotations

import hmac


def user_key(secret: bytes, user: str) -> str:
    """The key under which a user's impressions are found again; nothing of the user is in it.

    >>> user_key(b"secret", "anna") == user_key(b"secret", "anna") != user_key(b"other", "anna")
    True
    """
    return hmac.digest(secret, b"user\0" + user.encode("utf-8", "surrogatepass"), "sha256").hex()
