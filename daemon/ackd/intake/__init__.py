"""From a dropped file's bytes to what they say, or to the exact reason why they say nothing."""
