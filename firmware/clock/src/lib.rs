//! Instants, timestamps, timer tables and seeded randomness as plain values.
