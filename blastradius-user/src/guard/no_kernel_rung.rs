//! The kernel rung of a build without the feature `kernel`: it is never there.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use blastradius_common::{Id, Member, grant::Cover};

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

    /// See the module that this stands for.
    pub fn grants(&self) -> Grants {
        match self.0 {}
    }
}

/// Cannot exist.
#[derive(Clone, Debug)]
pub struct Grants(Infallible);

impl Grants {
    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn identify(&self, _root: &Path, _path: &Path) -> io::Result<Id> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn identify_program(&self, _root: &Path, _path: &Path) -> io::Result<Id> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn is_born(&self, _id: Id) -> io::Result<bool> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn member(&self, _process: libc::pid_t, _thread: libc::pid_t) -> io::Result<Option<Member>> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn list(&self, _objects: &[(Id, Cover)]) -> io::Result<u32> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn lend(&self, _objects: &[(Id, Cover)]) -> io::Result<u32> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn expect(
        &self,
        _grant: u32,
        _process: libc::pid_t,
        _thread: libc::pid_t,
        _binary: Id,
    ) -> io::Result<()> {
        match self.0 {}
    }

    /// See the module that this stands for.
    ///
    /// # Errors
    /// Never.
    pub fn enrol(&self, _process: libc::pid_t, _thread: libc::pid_t) -> io::Result<bool> {
        match self.0 {}
    }
}
