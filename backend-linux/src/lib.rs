//! parkade-linux
