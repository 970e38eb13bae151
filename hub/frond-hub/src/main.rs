//! The hub binary: the same node, and it accepts leafnodes and joins clusters.

mod beside;
mod fleet;
mod reserved;

use std::process::ExitCode;

use frond_broker::Link;
use frond_gateway::Clusters;
use frond_leaf::{Accept, Listener};
use frond_node::{ClusterSeed, GatewaySeed, Gateways, LinkMakers, RouteChange, Routes};
use frond_route::{Mesh, Plan};
use frond_runtime::Product;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("fleet") {
        return fleet::run();
    }
    frond_runtime::run(&Product {
        name: "frond-hub",
        commands: "Commands:\n  fleet  Sign configurations and bring them to the boxes (frond-hub fleet --help)",
        links,
        steward: None,
        attend: Some(beside::ATTENDANCE),
    })
}

fn links() -> LinkMakers {
    LinkMakers {
        solicit: frond_leaf::solicit,
        accept: Some(|at| {
            let options = &at.config.leafnodes;
            let listener = Listener {
                reserved: reserved::reserved(at.config),
                ..Listener::configured(options, at.port, at.called)
            };
            Box::new(Accept::new(listener, at.client_id)) as Box<dyn Link>
        }),
        cluster: Some(routes),
        gateway: Some(gateways),
    }
}

fn routes(seed: &ClusterSeed<'_>) -> Routes {
    let plan = Plan::configured(seed.config, seed.system, seed.port);
    let mesh = Mesh::new(plan, seed.made_up.clone());
    let (name, is_dynamic) = mesh.cluster();
    let changing = mesh.clone();
    Routes {
        dial: mesh.configured(),
        change: Box::new(move |seed| {
            let plan = Plan::configured(seed.config, seed.system, seed.port);
            let (gone, dial) = changing.change(plan);
            let (name, is_dynamic) = changing.cluster();
            RouteChange {
                gone,
                dial,
                name,
                is_dynamic,
            }
        }),
        accept: Box::new(move || mesh.accept()),
        name,
        is_dynamic,
    }
}

fn gateways(seed: &GatewaySeed<'_>) -> Gateways {
    let plan = frond_gateway::Plan::configured(seed.config, seed.host.clone(), seed.port);
    let clusters = Clusters::new(plan);
    Gateways {
        dial: clusters.configured(),
        host: seed.host.clone(),
        port: seed.port,
        accept: Box::new(move || clusters.accept()),
    }
}
