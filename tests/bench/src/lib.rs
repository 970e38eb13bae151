//! Frond beside nats-server in one run, and counted budgets that fail.
