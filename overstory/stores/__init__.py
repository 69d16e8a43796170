"""Where datasets live: one promise (`contract`), kept by each store of this package."""
