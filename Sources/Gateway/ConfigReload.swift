extension Config {
    /// These settings with what a reload takes from `new`, and the names of those that differ and wait for a restart.
    package func reloaded(with new: Config) -> (config: Config, waiting: [String]) {
        var config = self
        var waiting: [String] = []
        for key in Config.keys where key.shown(self) != key.shown(new) {
            if key.isLive {
                let isTaken = key.set(&config, key.shown(new))
                precondition(isTaken, "a setting does not read what it writes")
            } else {
                waiting.append(key.name)
            }
        }
        return (config, waiting)
    }
}
