"""The file system: read beneath a root without being led out of it, publish whole files, hold one lock."""
