//! The kernel rung of a build without the feature `kernel`: it is never there.

use std::convert::Infallible;
use std::io;

use super::denied::Denied;
use super::landlock::unenforced::Unenforced;
use crate::policy::plan::Plan;

/// Cannot exist.
#[derive(Debug)]
pub struct KernelRung(Infallible);

impl KernelRung {
    /// Says that it is not there.
    ///
    /// # Errors
    /// Always.
    pub fn stand(_plan: &Plan) -> Result<(Self, Vec<&'static str>), String> {
        Err("this build has no kernel side: build it with the feature `kernel`".to_owned())
    }

    /// See the module that this stands for.
    pub fn name(&self) -> &'static str {
        match self.0 {}
    }

    /// See the module that this stands for.
    pub fn departures(&self) -> Vec<Unenforced> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn arm(&self) -> io::Result<()> {
        match self.0 {}
    }

    /// See the module that this stands for.
    pub fn disarm(&self) {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    #[expect(clippy::unused_async, reason = "its counterpart waits")]
    pub async fn next(&mut self) -> io::Result<Denied> {
        match self.0 {}
    }

    /// See the module that this stands for.
    pub fn try_next(&mut self) -> Option<Denied> {
        match self.0 {}
    }

    /// See the module that this stands for.
    pub fn totals(&self) -> (u64, u64) {
        match self.0 {}
    }

    /// See the module that this stands for.
    pub fn has_tasks(&self) -> bool {
        match self.0 {}
    }
}
