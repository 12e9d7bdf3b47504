"""Axes and shapes: rearranging, replicating, sorting, statistics along axes."""
