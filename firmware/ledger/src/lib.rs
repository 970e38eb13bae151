//! What can be written to the disk, what can be read back, and the receipt that proves it is safe.
