//! placeholder until the runtime lands
fn main() {}
