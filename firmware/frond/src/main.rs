//! The leaf binary: everything a gateway in a shop runs. It dials a hub and accepts none.

mod beside;
mod ota;

use std::process::ExitCode;

use frond_node::LinkMakers;
use frond_runtime::Product;

const PRODUCT: Product = Product {
    name: "frond",
    commands: "Commands:\n  config  Change the configuration, and go back when it is bad (frond config --help)",
    links,
    steward: Some(ota::steward),
    attend: Some(beside::ATTENDANCE),
};

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("config") {
        return ota::commands::run();
    }
    frond_runtime::run(&PRODUCT)
}

fn links() -> LinkMakers {
    LinkMakers {
        solicit: frond_leaf::solicit,
        accept: None,
        cluster: None,
        gateway: None,
    }
}
