//! Subjects, wildcards, mappings and transforms, and the tree that answers who matches.
