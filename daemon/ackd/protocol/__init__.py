"""The protocol itself: pure values and functions, no clock, no file, no configuration.

Data flows one way: an `Envelope` is judged against a `Thread` (`judge`), the verdict becomes an `Entry`,
`fold` merges entries into the next `Thread`, and `obligations` says what is owed now.
"""
