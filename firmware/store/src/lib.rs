//! The ledger on redb: journal, group commit, message blocks, recovery, compaction.
