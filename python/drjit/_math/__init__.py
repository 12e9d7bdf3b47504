"""Mathematics that is composed of other functions."""
