"""What works without any model service: a writer by rules, and two embedders on this machine."""
