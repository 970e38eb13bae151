//! The whole server as one value: handle, poll, deadline.
