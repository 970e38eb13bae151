use frond_broker::Link;

use super::Mesh;
use crate::plan::Plan;
use crate::route::Reason;
use crate::target::Target;

impl Mesh {
    /// One route for each configured server and each account with a connection of its own.
    #[must_use]
    pub fn configured(&self) -> Vec<Box<dyn Link>> {
        let plan = self.plan();
        let lanes = lanes(&plan.pinned);
        self.routes_to(&plan.targets, &lanes)
    }

    /// Goes by another plan: the cluster is called as that says, who is to be dialed no more, as routes to them show it, and a route to
    /// each that was not, also for accounts that have a connection of their own from here on.
    /// Routes that are up learn of the rest by `reconfigured`.
    #[must_use]
    pub fn change(&self, plan: Plan) -> (Vec<String>, Vec<Box<dyn Link>>) {
        let former = {
            let mut state = self.0.borrow_mut();
            state.logins += u64::from(!plan.asks_as(&state.plan));
            let was_named = state.plan.name.is_some();
            state.cluster.reload(was_named, plan.name.as_deref());
            core::mem::replace(&mut state.plan, plan)
        };
        let plan = self.plan();
        let gone = without(&former.targets, &plan.targets);
        let come = without(&plan.targets, &former.targets);
        let stay = without(&plan.targets, &come);
        let pinned: Vec<_> = without(&plan.pinned, &former.pinned);
        let pinned: Vec<_> = pinned.into_iter().map(Some).collect();
        let gone = gone.iter().map(ToString::to_string).collect();
        let mut dial = self.routes_to(&come, &lanes(&plan.pinned));
        dial.extend(self.routes_to(&stay, &pinned));
        (gone, dial)
    }

    fn routes_to(&self, targets: &[Target], lanes: &[Option<String>]) -> Vec<Box<dyn Link>> {
        let wanted = targets
            .iter()
            .flat_map(|target| lanes.iter().map(move |lane| (target, lane)));
        wanted
            .map(|(target, account)| self.route_to(target, account.clone(), Reason::Configured))
            .collect()
    }

    /// Another number than before: callers have to show something else.
    pub(crate) fn logins(&self) -> u64 {
        self.0.borrow().logins
    }
}

/// The connections to one server: that of all accounts, and one for each that has its own.
fn lanes(pinned: &[String]) -> Vec<Option<String>> {
    core::iter::once(None)
        .chain(pinned.iter().cloned().map(Some))
        .collect()
}

fn without<T: Clone + PartialEq>(some: &[T], others: &[T]) -> Vec<T> {
    let left = some.iter().filter(|one| !others.contains(one));
    left.cloned().collect()
}
