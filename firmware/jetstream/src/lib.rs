//! Streams, consumers, mirrors and sources as rules, and the JetStream API that steers them.
