//! The hub binary: the same node, and it accepts leafnodes.

use std::process::ExitCode;

use frond_broker::Link;
use frond_leaf::{Accept, Listener};
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
        solicit: frond_leaf::solicit,
        accept: Some(|at| {
            let listener = Listener::configured(at.options, at.port, at.called);
            Box::new(Accept::new(listener, at.client_id)) as Box<dyn Link>
        }),
    }
}
