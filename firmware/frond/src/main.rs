//! The leaf binary: everything a gateway in a shop runs. It dials a hub and accepts none.

use std::process::ExitCode;

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
        solicit: frond_leaf::solicit,
        accept: None,
        cluster: None,
        gateway: None,
    }
}
