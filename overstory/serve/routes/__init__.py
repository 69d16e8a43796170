"""Routes by subject: each module has one `router`."""
