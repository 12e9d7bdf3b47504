"""Arrays as text: printing, labels, assertions."""
