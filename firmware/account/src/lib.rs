//! Who someone is and what they may do: accounts, users, nkeys and permissions.
