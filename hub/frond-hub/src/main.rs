//! The hub binary: the same node, and it accepts leafnodes.

use std::process::ExitCode;

use frond_broker::Link;
use frond_leaf::{Accept, Listener, Remote, Solicit};
use frond_node::LinkMakers;
use frond_runtime::Product;

fn main() -> ExitCode {
    frond_runtime::run(&Product {
        name: "frond-hub",
        links,
    })
}

fn links() -> LinkMakers {
    LinkMakers {
        solicit: |given, all, credentials| {
            let remote = Remote::configured(given, all, credentials)?;
            Ok(Box::new(Solicit::new(remote)) as Box<dyn Link>)
        },
        accept: Some(|at| {
            let listener = Listener::configured(at.options, at.port);
            Box::new(Accept::new(listener, at.client_id)) as Box<dyn Link>
        }),
    }
}
