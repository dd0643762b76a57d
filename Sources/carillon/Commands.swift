extension Command {
    /// Every command, in the order of the help.
    static let all: [Command] =
        [InitCommand.command, ServeCommand.command]
        + AppCommands.all
        + KeyCommands.all
        + AdminCommands.all
        + DeviceCommands.all
        + [ListenCommand.command]
        + CertificateCommands.all
        + RegistrationCommands.all
        + [SendCommand.command, LogCommand.command, StatusCommand.command, DoctorCommand.command]
        + [BackupCommand.command, RestoreCommand.command]
        + BenchCommands.all
        + [VersionCommand.command]
}
