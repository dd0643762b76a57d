import Gateway
import Glibc
import JSON
import PushCore
import Reactor
import TLS

/// `carillon serve`: checks what can be checked before anything listens, then runs the gateway.
enum ServeCommand {
    static let command = Command(
        name: "serve",
        summary: "run the gateway in the foreground; SIGTERM drains, SIGHUP reloads",
        options: [
            CommandOption.config,
            .list("set", "KEY=VALUE", "override a setting of the file"),
            .flag("print-config", "print the settings in force and where each came from, and end"),
            .flag("test-hooks", "open /v1/test/ on the admin API; refused in production"),
        ],
        example: "carillon serve --config instance/carillon.conf --set provider.port=443",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation, overrides: invocation.all("set"))
        if invocation.has("print-config") {
            printConfig(of: instance, json: invocation.wantsJSON)
            return .done
        }
        if invocation.has("test-hooks") && instance.config.environment == .production {
            throw .failed(code: "test_hooks", message: "--test-hooks is refused in production: it moves the clock")
        }
        let files = try StartFiles.read(instance)
        return try runGateway(
            ServeRequest(
                instance: instance,
                files: files,
                overrides: invocation.all("set"),
                testHooks: invocation.has("test-hooks"),
                json: invocation.wantsJSON
            )
        )
    }

    private static func printConfig(of instance: Instance, json: Bool) {
        let (loaded, name) = (instance.loaded, Files.split(instance.configPath).name)
        guard json else { return Output.line(trimmed(loaded.printed(file: name, cores: Machine.cores))) }
        let resolved = loaded.config.resolved(cores: Machine.cores)
        Output.object { writer in
            for key in Config.keys {
                writer.key(key.name)
                writer.object { writer in
                    writer.field("value", key.shown(resolved))
                    writer.field("source", loaded.source(of: key.name).described(file: name))
                }
            }
        }
    }
}

/// What the gateway is started with.
struct ServeRequest: Sendable {
    let instance: Instance
    let files: InstanceFiles
    let overrides: [String]
    let testHooks: Bool
    let json: Bool
}
