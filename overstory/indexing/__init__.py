"""Documents → chunks → graph → summaries → tree: what is thought, without a flow or a model of its own."""
