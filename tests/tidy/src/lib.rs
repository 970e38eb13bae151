//! The rules of the tree as tests.
