//! The monitoring documents, from a read-only view of the node.
