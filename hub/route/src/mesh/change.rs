use frond_broker::Link;

use super::Mesh;
use crate::plan::Plan;
use crate::route::Reason;
use crate::target::Target;

impl Mesh {
    /// One route for each configured server and each account with a connection of its own.
    #[must_use]
    pub fn configured(&self) -> Vec<Box<dyn Link>> {
        let targets = self.planned(|plan| plan.targets.clone());
        self.routes_to(&targets)
    }

    /// Goes by another plan: who is to be dialed no more, as routes to them show it, and a route to
    /// each that was not. Routes that are up learn of the rest by `reconfigured`.
    #[must_use]
    pub fn change(&self, plan: Plan) -> (Vec<String>, Vec<Box<dyn Link>>) {
        let former = {
            let mut state = self.0.borrow_mut();
            state.logins += u64::from(!plan.asks_as(&state.plan));
            core::mem::replace(&mut state.plan, plan)
        };
        let targets = self.planned(|plan| plan.targets.clone());
        let without = |some: &[Target], others: &[Target]| -> Vec<Target> {
            let new = some.iter().filter(|target| !others.contains(target));
            new.cloned().collect()
        };
        let gone = without(&former.targets, &targets);
        let come = without(&targets, &former.targets);
        let gone = gone.iter().map(ToString::to_string).collect();
        (gone, self.routes_to(&come))
    }

    fn routes_to(&self, targets: &[Target]) -> Vec<Box<dyn Link>> {
        let plan = self.plan();
        let accounts = || core::iter::once(None).chain(plan.pinned.iter().map(Some));
        let wanted = targets
            .iter()
            .flat_map(|target| accounts().map(move |account| (target, account)));
        wanted
            .map(|(target, account)| self.route_to(target, account.cloned(), Reason::Configured))
            .collect()
    }

    /// Another number than before: callers have to show something else.
    pub(crate) fn logins(&self) -> u64 {
        self.0.borrow().logins
    }
}
