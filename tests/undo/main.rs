//! What was destroyed inside scope comes back: sessions on the Landlock rung, in throwaway trees.

mod attributes;
mod ground;
mod kills;
mod limits;
mod losses;
mod repositories;
