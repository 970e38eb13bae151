//! The leaf binary: everything a gateway in a shop runs. It dials a hub and accepts none.

use std::process::ExitCode;

use frond_broker::Link;
use frond_leaf::{Remote, Solicit};
use frond_node::LinkMakers;
use frond_runtime::Product;

fn main() -> ExitCode {
    frond_runtime::run(&Product {
        name: "frond",
        links,
    })
}

fn links() -> LinkMakers {
    LinkMakers {
        solicit: |given, all, credentials| {
            let remote = Remote::configured(given, all, credentials)?;
            Ok(Box::new(Solicit::new(remote)) as Box<dyn Link>)
        },
        accept: None,
    }
}
