import Gateway
import Glibc
import JSON
import PushCore

/// `carillon restore`: makes an instance from a backup. The one command beside `serve` that looks into a store: it is
/// nobody's yet, and a damaged one must be found before somebody relies on it.
enum RestoreCommand {
    static let command = Command(
        name: "restore",
        summary: "make an instance from a backup, after checking that it is whole",
        arguments: ["FILE"],
        options: [.value("directory", "D", "where; made if it is not there", required: true)],
        example: "carillon restore carillon-monday.tar --directory instance",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let source = Files.absolute(invocation.arguments[0])
        let typed = invocation.required("directory")
        try InitCommand.refuseOccupied(typed)
        // Read twice: nothing is written of an archive that is not whole.
        let settings = try verify(source)
        let isNew = !Files.exists(typed)
        if isNew { try Files.createDirectory(typed) }
        let directory = Files.absolute(typed)
        var written: [String] = []
        let facts: RestoredStore
        do throws(CommandError) {
            facts = try unpack(source, settings: settings, to: directory, &written)
        } catch {
            // What unlink does not take is a folder, and empty by now.
            for path in written.reversed() { if unlink(path) != 0 { rmdir(path) } }
            // Those that hold something else stay.
            for folder in Instance.folders { rmdir(Files.join(directory, folder)) }
            if isNew { rmdir(directory) }
            throw error
        }
        let config = Files.join(directory, Backup.settingsName)
        guard invocation.wantsJSON else {
            Output.line(
                """
                Restored \(facts.devices) devices and \(facts.pushes) waiting pushes into \(directory).
                Start it: carillon serve --config \(config)
                """
            )
            return .done
        }
        Output.object { writer in
            writer.field("config", config)
            writer.field("storeVersion", facts.version)
            writer.field("pushes", facts.pushes)
            writer.field("devices", facts.devices)
        }
        return .done
    }

    /// Compares everything in the archive with its sums; returns the settings, which say where the store belongs.
    private static func verify(_ path: String) throws(CommandError) -> [UInt8] {
        try Files.withFile(path) { descriptor, _ throws(CommandError) in
            let archive = ArchiveReader(from: descriptor, path: path)
            var (sums, settings, said) = ([String](), [UInt8](), [UInt8]())
            var names: Set<String> = []
            while let entry = try archive.next() {
                guard names.insert(entry.name).inserted else { throw archive.damaged }
                let isSettings = entry.name == Backup.settingsName
                let isSums = entry.name == ArchiveWriter.sumsName
                guard entry.size <= Backup.smallLimit || entry.name == Backup.storeName else { throw archive.damaged }
                let digest = try archive.content(entry) { part in
                    if isSettings { settings += part }
                    if isSums { said += part }
                }
                if !isSums { sums.append("\(hexadecimal(digest))  \(entry.name)\n") }
            }
            guard !said.isEmpty, said == Array(sums.joined().utf8), !settings.isEmpty else { throw archive.damaged }
            return settings
        }
    }

    /// Writes everything, the settings last: with them the instance is whole. `written` are the files and folders made.
    private static func unpack(
        _ source: String,
        settings: [UInt8],
        to directory: String,
        _ written: inout [String]
    ) throws(CommandError) -> RestoredStore {
        for folder in Instance.folders { try Files.createDirectory(Files.join(directory, folder)) }
        let store = try storePath(settings, in: directory)
        var paths: [String] = []
        defer { written = paths }
        try Files.withFile(source) { descriptor, _ throws(CommandError) in
            let archive = ArchiveReader(from: descriptor, path: source)
            while let entry = try archive.next() {
                let isLeftOut = [Backup.settingsName, ArchiveWriter.sumsName].contains(entry.name)
                guard !isLeftOut else {
                    _ = try archive.content(entry) { _ in }
                    continue
                }
                let path = entry.name == Backup.storeName ? store : Files.join(directory, entry.name)
                let folder = Files.split(path).directory
                if !Files.exists(folder) {
                    try Files.createDirectory(folder)
                    paths.append(folder)
                }
                try Files.create(path, mode: 0o600) { target throws(CommandError) in
                    paths.append(path)
                    _ = try archive.content(entry) { part throws(CommandError) in
                        try Files.write(part, to: target, name: path)
                    }
                }
            }
        }
        let facts = try inspect(store)
        try Files.create(Files.join(directory, Backup.settingsName), settings, mode: 0o644)
        for folder in Instance.folders + [""] {
            try Files.syncFolder(of: Files.join(directory, "\(folder)/."))
        }
        return facts
    }

    /// Where the settings want the store.
    private static func storePath(_ settings: [UInt8], in directory: String) throws(CommandError) -> String {
        let config: Config
        do throws(ConfigError) {
            config = try Config.load(fileText: String(decoding: settings, as: UTF8.self))
        } catch {
            let lines = error.lines(file: Backup.settingsName).joined(separator: "\n")
            throw .failed(code: "config", message: "the backup's settings are not for this version:\n\(lines)")
        }
        guard case .sqlite(let name) = config.store else { return Files.join(directory, "data/carillon.db") }
        return Files.join(directory, name)
    }

    private static func inspect(_ path: String) throws(CommandError) -> RestoredStore {
        do throws(StartError) {
            return try RestoredStore(path: path)
        } catch {
            throw .failed(code: "store", message: error.description)
        }
    }
}
