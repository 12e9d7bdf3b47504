"""Functions that are recorded once, and repeated without being called.

``function`` has the class of such; docs/dev/freezing.md says what the others do.
"""
