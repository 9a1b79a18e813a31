"""Live channels: quick and unreliable ways to an agent, beside the file in its inbox, which is always there."""

from ackd.channels.port import Channel, Outcome, Post, Sent

__all__ = ["Channel", "Outcome", "Post", "Sent"]
