//! Sessions, interest, delivery, queue groups, outboxes, and the one path every message takes.
