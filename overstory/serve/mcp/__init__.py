"""The verbs as tools of the Model Context Protocol, for agents: over stdio, and over HTTP beside the rest."""
