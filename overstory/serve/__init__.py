"""Overstory over HTTP: the verbs, what a dataset's index says, and the page that shows it."""
