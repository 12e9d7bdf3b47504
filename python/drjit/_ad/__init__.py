"""Differentiation: what is a composition of the functions of the extension."""
