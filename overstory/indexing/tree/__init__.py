"""The shape of the tree: planned, changed and verified as arrays, without a store and without a text."""
