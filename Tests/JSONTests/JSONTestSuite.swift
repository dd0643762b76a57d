import Glibc

/// The files of nst/JSONTestSuite: `y_` are JSON, `n_` are not, `i_` are left to the parser.
struct JSONTestSuite: CustomStringConvertible {
    let name: String
    let bytes: [UInt8]
    var description: String { name }

    /// Whether the document is an object by its first byte that is no white space.
    var looksLikeObject: Bool {
        bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{")
    }

    static func files(_ prefix: String) -> [JSONTestSuite] {
        let folder = #filePath.replacing(file: "../Data/json/test_parsing/")
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var files: [JSONTestSuite] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(prefix) { files.append(JSONTestSuite(name: name, bytes: read(folder + name))) }
        }
        return files.sorted { $0.name < $1.name }
    }

    private static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        return [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
    }
}

extension String {
    /// This path with its last component replaced.
    fileprivate func replacing(file: String) -> String {
        self[...(lastIndex(of: "/") ?? startIndex)] + file
    }
}
