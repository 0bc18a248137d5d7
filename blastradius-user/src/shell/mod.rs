//! Text → abstract evaluation → calls of programs → effects. No I/O: the machine is behind [`world::World`].

pub mod value;
pub mod world;
