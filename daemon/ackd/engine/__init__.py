"""The engine: takes files in, judges them, carries out what is owed; and what every face of ackd calls."""
