/// The variables this process was started with.
enum Surroundings {
    /// From the kernel, because C's `environ` is a global variable that anyone may change.
    static func variables() throws(CommandError) -> [String: String] {
        var variables: [String: String] = [:]
        for entry in try Files.read("/proc/self/environ").split(separator: 0) {
            guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(decoding: entry[..<equals], as: UTF8.self)
            variables[name] = String(decoding: entry[entry.index(after: equals)...], as: UTF8.self)
        }
        return variables
    }
}
