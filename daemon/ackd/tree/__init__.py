"""The shape of a tree: where things lie, and which names mean what. Pure."""
